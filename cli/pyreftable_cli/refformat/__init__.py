"""What `for-each-ref` and its relatives do with refs: select, sort and format them.

    patterns   which names are wanted (`globs` compiles the globs)
    listing    the store's runs -> batches of wanted refs, broken ones reported
    batch      `RefBatch`: many refs as parallel lists
    parser     a format string -> nodes; `atoms` knows the fields, `nodes` the blocks
    lookup     what fields ask of the repository: objects, short names, HEAD; each thing once
    sorting    batches in another order
    formatter  nodes and a batch -> output bytes

Everything works on columns: a field gives the values of all refs of a batch at once, so that what
costs is done in C and the cost of Python is per batch and field, not per ref.
"""

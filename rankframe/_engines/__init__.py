"""Tables in parts: the metrics as a function of Arrow tables, the verbs on any engine, and the tasks of workers."""

"""Makes the pages: the tables, pictures and lists that ./run plot writes, the translations (./run translate) and the
site (./run book). The folder is not called site/, because Python has a module of that name."""

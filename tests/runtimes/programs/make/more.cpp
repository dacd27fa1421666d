int more() { return 2; }

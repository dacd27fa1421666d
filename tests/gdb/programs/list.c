struct node { int d[8]; struct node *next; struct { short s; double f; unsigned low : 3; } in; };
struct node nodes[2] = {{{1, 2, 3, 4, 5, 6, 7, 8}, &nodes[1], {3, 2.5, 5}}, {{11, 12, 13}, 0, {4, 7.5, 6}}};
int main(int argc, char **argv)
{
  struct node *n = &nodes[0];
  int k = 2;
  return k + n->d[0] - argc - (argv != 0);
}

"""python: a fixed program of the kinds of objects that Python programs are made of; prints one checksum.

usage: work.py ROUNDS. Dictionaries of strings, lists of tuples, classes with attributes, text that is split and joined,
integers beyond 64 bits, sorting by a key. No module is imported but sys, no input is read, nothing is random.
"""

import sys


class Node:
    def __init__(self, key, parent):
        self.key, self.parent, self.children = key, parent, []


def words(count):
    return ["w%d%s" % (i * 7919 % 10007, "x" * (i % 40)) for i in range(count)]


def tables(count):
    table = {}
    for word in words(count):
        table.setdefault(word[:5], []).append((len(word), word))
    for key in sorted(table)[::3]:
        del table[key]
    return sum(len(rows) for rows in table.values())


def trees(count):
    root = Node(0, None)
    nodes = [root]
    for key in range(1, count):
        parent = nodes[key * 31 % len(nodes)]
        nodes.append(Node(key, parent))
        parent.children.append(nodes[-1])
    return sum(len(node.children) * node.key for node in nodes)


def texts(count):
    text = " ".join(words(count))
    lines = [line.strip().upper() for line in text.replace("x w", "\n").split("\n")]
    return sum(map(len, sorted(lines, key=len)))


def numbers(count):
    total = 1
    for i in range(1, count):
        total = total * i + i
    return total % 1000003


def main():
    check = 0
    for _ in range(int(sys.argv[1])):
        check += tables(12000) + trees(12000) + texts(8000) + numbers(1200)
    print(check)


main()

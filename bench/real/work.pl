# perl: hashes, strings, regular expressions and sorting; prints one checksum. usage: work.pl ROUNDS
use strict;
use warnings;

my $check = 0;
for my $round (1 .. $ARGV[0]) {
    my (%count, @lines);
    for my $i (1 .. 15000) {
        my $word = 'w' . ($i * 7919 % 10007) . 'x' x ($i % 40);
        push @{$count{substr $word, 0, 5}}, $word;
    }
    for my $key (sort keys %count) {
        my @words = sort { length $a <=> length $b or $a cmp $b } @{$count{$key}};
        push @lines, join ' ', map { s/x+$/-/r } @words;
    }
    my %seen;
    $seen{$_}++ for map { split } @lines;
    $check += scalar(keys %seen) + length join "\n", @lines;
}
print "$check\n";

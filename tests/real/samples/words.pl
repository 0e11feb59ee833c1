# Hashes, arrays, strings and regular expressions that grow and shrink; prints digests of what it made.
use strict;
use warnings;

my $count = shift @ARGV;
my ($state, %words, @lines) = (12345);

sub draw {
    my ($below) = @_;
    $state = ($state * 1103515245 + 12345) % 2147483648;
    return int($state / 65536) % $below;
}

for my $i (1 .. $count) {
    my $word = join '', map { chr(97 + draw(26)) } 1 .. 3 + draw(9);
    push @{ $words{ substr($word, 0, 2) } }, $word;
    $lines[ draw(5000) ] .= "$word ";
    delete $words{ substr($word, 0, 2) } if draw(500) == 0;
}

my $text = join "\n", map { $_ // '' } @lines;
my $vowels = () = $text =~ /[aeiou]{2,}/g;
(my $changed = $text) =~ s/(\w)(\w+)/\u$1$2$1/g;
my @sorted = sort { length $a <=> length $b or $a cmp $b } split ' ', $changed;
my $sum = 0;
$sum = ($sum * 31 + unpack('%32C*', $_)) % 4294967296 for @sorted;
printf "%d keys, %d words, %d runs of vowels, checksum %d, longest %s\n", scalar keys %words, scalar @sorted,
    $vowels, $sum, $sorted[-1];
printf "%s %d\n", $_, scalar @{ $words{$_} } for (sort keys %words)[0 .. 40];

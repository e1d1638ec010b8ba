"""Comparisons written as tables: the best, the letters, and names that try to be more than text."""

import re
from html.parser import HTMLParser

import polars as pl
import pytest

from polars_retrieval import tables
from polars_retrieval.comparison.pairs import compare
from polars_retrieval.errors import ColumnError, DataError, ParameterError

WRITERS = [tables.to_markdown, tables.to_latex, tables.to_html]
HOSTILE = [
    "<script>alert(1)</script>",
    '"></td><b>',
    "a|b",
    "a\\|b",
    "*bold* _it_ `code` [x](y) ![z](q)",
    "&amp; &lt;",
    "\\input{x} %$#_^~{}&",
    "~~no~~ ==no== ^no^ $x$ #1 {: .c}",
    "ends in \\",
    "[12pt]",
]


def comparison(**changed):
    return pl.DataFrame(
        {
            "measure": ["recall@10"] * 3 + ["fall_out@10"] * 3,
            "baseline": ["bm25", "bm25", "dense"] * 2,
            "system": ["dense", "both", "both"] * 2,
            "mean_baseline": [0.5, 0.5, 0.75, 0.2, 0.2, 0.1],
            "mean_system": [0.75, 0.875, 0.875, 0.1, 0.3, 0.3],
            "p_adjusted": [0.04, 0.001, 0.2, 0.01, 0.05, None],
            **changed,
        }
    )


class Reader(HTMLParser):
    """The tags of an HTML text, and the text in each cell."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.cells = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in {"td", "th"}:
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data if data.strip() else ""


def test_markdown():
    assert tables.to_markdown(comparison()).splitlines() == [
        "|  | system | recall@10 | fall\\_out@10 |",
        "|:--|:--|--:|--:|",
        "| a | bm25 | 0.500 | 0.200 |",
        "| b | dense | 0.750<sup>a</sup> | **0.100**<sup>a</sup> |",
        "| c | both | **0.875**<sup>a</sup> | 0.300 |",
    ]


def test_latex():
    assert tables.to_latex(comparison()).splitlines() == [
        r"\begin{tabular}{llrr}",
        r"\toprule",
        r" & system & recall@10 & fall\_out@10 \\",
        r"\midrule",
        r"a & bm25 & 0.500 & 0.200 \\",
        r"b & dense & 0.750\textsuperscript{a} & \textbf{0.100}\textsuperscript{a} \\",
        r"c & both & \textbf{0.875}\textsuperscript{a} & 0.300 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_html():
    text = tables.to_html(comparison())
    read = Reader(text)
    assert read.tags == {"table", "thead", "tbody", "tr", "th", "td", "strong", "sup"}
    assert read.cells == [
        *["", "system", "recall@10", "fall_out@10"],
        *["a", "bm25", "0.500", "0.200"],
        *["b", "dense", "0.750a", "0.100a"],
        *["c", "both", "0.875a", "0.300"],
    ]
    assert re.findall(r"<strong>(.*?)</strong>", text) == ["0.100", "0.875"]


def test_level_and_decimals():
    lines = tables.to_markdown(comparison(), level=0.005, decimals=1).splitlines()
    assert lines[3] == "| b | dense | 0.8 | **0.1** |"
    assert lines[4] == "| c | both | **0.9**<sup>a</sup> | 0.3 |"
    assert "<sup>ab</sup>" in tables.to_markdown(comparison(), level=0.25)


def test_equal_best_are_all_bold():
    text = tables.to_markdown(comparison(mean_system=[0.875, 0.875, 0.875, 0.1, 0.3, 0.3]).filter(baseline="bm25"))
    assert text.count("**0.875**") == 2


def test_a_system_that_is_worse_than_the_baseline_gives_it_a_letter():
    worse = comparison(mean_system=[0.25, 0.875, 0.875, 0.1, 0.3, 0.3]).filter(baseline="bm25")
    assert tables.to_markdown(worse).splitlines()[2] == "| a | bm25 | 0.500<sup>b</sup> | 0.200 |"


def test_no_mean_is_an_empty_cell():
    frame = comparison(mean_baseline=[None, None, 0.75, 0.2, 0.2, 0.1], p_adjusted=[None] * 6)
    assert tables.to_markdown(frame).splitlines()[2] == "| a | bm25 |  | 0.200 |"


def test_many_systems_have_letters_with_commas():
    n = 28
    frame = pl.DataFrame(
        {
            "measure": ["m"] * (n - 1),
            "baseline": [f"s{i}" for i in range(n - 1)],
            "system": ["s27"] * (n - 1),
            "mean_baseline": [0.1] * (n - 1),
            "mean_system": [0.2] * (n - 1),
            "p_adjusted": [0.01] * (n - 1),
        }
    )
    last = tables.to_markdown(frame).splitlines()[-1]
    assert last.startswith("| ab | s27 | **0.200**<sup>a,b,c,")
    assert last.endswith(",y,z,aa</sup> |")


def test_what_compare_gives():
    values = pl.DataFrame(
        {
            "run_id": ["a"] * 12 + ["b"] * 12,
            "query_id": [*range(12)] * 2,
            "recall@10": [0.1 * i / 12 for i in range(12)] + [0.5] * 12,
            "half": (["x"] * 6 + ["y"] * 6) * 2,
        }
    )
    assert tables.to_markdown(compare(values)).splitlines()[-1] == "| b | b | **0.500**<sup>a</sup> |"
    by_half = tables.to_markdown(compare(values, segment="half").lazy())
    assert by_half.splitlines() == [
        "| half |  | system | recall@10 |",
        "|:--|:--|:--|--:|",
        f"| x | a | a | {(0.1 * 15 / 12) / 6:.3f} |",
        "| x | b | b | **0.500** |",  # the least p of 6 queries is 2/64, and Holm doubles it
        f"| y | a | a | {(0.1 * 51 / 12) / 6:.3f} |",
        "| y | b | b | **0.500** |",
    ]


def hostile():
    """Give a comparison whose segment, measure and systems are all hostile."""
    n = len(HOSTILE)
    return pl.DataFrame(
        {
            HOSTILE[0]: HOSTILE,
            "measure": ["recall\n@10|<i>"] * n,
            "baseline": HOSTILE,
            "system": [name + "\nnext" for name in HOSTILE],
            "mean_baseline": [0.5] * n,
            "mean_system": [0.5] * n,
            "p_adjusted": [1.0] * n,
        }
    )


class TestHostileNames:
    def cells(self):
        systems = [*HOSTILE, *(name + " next" for name in HOSTILE)]
        return {HOSTILE[0], "recall @10|<i>", *systems}

    def test_html(self):
        read = Reader(tables.to_html(hostile()))
        assert read.tags <= {"table", "thead", "tbody", "tr", "th", "td", "strong", "sup"}
        assert self.cells() <= set(read.cells)

    @pytest.mark.parametrize("reader", ["markdown_it", "markdown"])
    def test_markdown(self, reader):
        module = pytest.importorskip(reader)
        text = tables.to_markdown(hostile())
        if reader == "markdown":
            page = module.markdown(text, extensions=["tables", "attr_list"])
        else:
            page = module.MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
        read = Reader(page)
        assert read.tags <= {"table", "thead", "tbody", "tr", "th", "td", "strong", "sup"}
        assert {cell.strip() for cell in read.cells} >= self.cells()

    def test_latex(self):
        """Every sign of LaTeX's is one that the table means, or escaped."""
        text = tables.to_latex(hostile())
        own = r"\\(begin|end)\{tabular\}(\{l+r+\})?|\\(toprule|midrule|bottomrule)|\\textbf\{[\d.]+\}|^.* \\\\$"
        rows = [line for line in text.splitlines() if line.endswith(r" \\")]
        assert len(rows) == 1 + 2 * len(HOSTILE) * len(HOSTILE)
        assert all(re.fullmatch(own, line) for line in text.splitlines())
        for row in rows:
            bare = row.removesuffix(r" \\")
            bare = re.sub(r"\\text(backslash|asciitilde|asciicircum|less|greater|bar)\{\}", "", bare)
            bare = re.sub(r"\\[{}$&#_%]|\{\[\}|\{\*\}|\\textbf\{[\d.]+\}", "", bare)
            assert not re.search(r"[\\{}$#_%^~]", bare), row
            assert not row.startswith(("[", "*"))
            assert bare.count(" & ") == 3


@pytest.mark.parametrize("write", WRITERS)
class TestErrors:
    def test_columns(self, write):
        with pytest.raises(ColumnError, match=r"`comparison` has no column `p_adjusted`; its columns are `measure`"):
            write(comparison().drop("p_adjusted"))
        with pytest.raises(ColumnError, match="`comparison` has to be a frame"):
            write("a comparison")

    def test_no_rows(self, write):
        with pytest.raises(DataError, match="`comparison` has no rows to write"):
            write(comparison().head(0))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"level": 0.95},
                "`level` is that of significance, such as 0.05, and has to be between 0 and 0.5, got 0.95",
            ),
            ({"level": "5%"}, "`level` has to be a number, got '5%'"),
            ({"decimals": -1}, "`decimals` has to be an integer of at least 0, got -1"),
        ],
    )
    def test_options(self, write, options, message):
        with pytest.raises(ParameterError, match=re.escape(message)):
            write(comparison(), **options)

    def test_means_that_differ_from_pair_to_pair(self, write):
        frame = comparison(mean_baseline=[0.5, 0.6, 0.75, 0.2, 0.2, 0.1])
        with pytest.raises(DataError, match=r"the mean `recall@10` of `bm25` is 0\.5 in one pair and 0\.6 in another"):
            write(frame)

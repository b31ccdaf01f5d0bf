/*
 * How the page looks: by light and by dark, on a wide screen and on a narrow one.
 */
#include "report/private.h"

/* Pieces, because a C compiler need not take a string this long. */
const char *const report_style[] = {
    ":root{--paper:#fbfbfa;--card:#fff;--ink:#1d2327;--soft:#5d676f;--line:#dfe3e6;--accent:#"
    "c2410c;"
    "--glow:#fff1e8;--good:#2f8f5b;--bad:#c23b3b;--ours:#8a6d1d;--code:#f4f5f5;"
    "--p0:#6b7580;--p1:#8250c4;--p2:#1f78b4;--p3:#5b7f1d;--p4:#138a72;--p5:#a8850b;--p6:#c2307f;"
    "--p7:#7a4b2a;--p8:#4b63d8;--p9:#8b949a;--p10:#0f8fa9;"
    "--v0:#e3e7ea;--v1:#cddbe4;--v2:#b0cbdc;--v3:#8db6d1;--v4:#659cc2;--v5:#3f7fae;--v6:#1f5f93}\n",
    "@media(prefers-color-scheme:dark){:root{--paper:#14171a;--card:#1b1f23;--ink:#e4e7e9;"
    "--soft:#98a2aa;--line:#2e353b;--accent:#fb923c;--glow:#2b2018;--good:#4cb57d;--bad:#e06a6a;"
    "--ours:#d1a93e;--code:#111417;"
    "--p0:#98a2aa;--p1:#b48cf2;--p2:#5aaee6;--p3:#9cc44a;--p4:#3fbfa3;--p5:#d9b62f;--p6:#ee72b4;"
    "--p7:#c08a60;--p8:#8c9cff;--p9:#7b858c;--p10:#4fd0e6;"
    "--v0:#2b333a;--v1:#2c414f;--v2:#2d5066;--v3:#31627f;--v4:#3a7ba1;--v5:#4e99c6;--v6:#7cc3ee}}"
    "\n",
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}\n",
    "body{margin:0;background:var(--paper);color:var(--ink);"
    "font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',sans-serif}\n",
    "main{max-width:1060px;margin:0 auto;padding:28px 20px 60px}\n",
    "h1{font-size:30px;line-height:1.2;margin:2px 0 4px;overflow-wrap:anywhere;"
    "letter-spacing:-.01em}\n",
    "h2{font-size:20px;margin:0 0 14px;letter-spacing:-.005em}h3{font-size:16px;margin:18px 0 "
    "8px}\n",
    "h3:first-child{margin-top:0}p{margin:8px 0}\n",
    ".brand{font-weight:700;color:var(--accent);margin:0}.brand span{font-weight:400}\n",
    ".sub,.note{color:var(--soft)}.sub{margin:0;overflow-wrap:anywhere}.note{font-size:14px}\n",
    ".lead{font-size:17px;margin:18px 0 0}\n",
    "section,.tile{background:var(--card);border:1px solid var(--line);border-radius:12px}\n",
    "section{padding:20px 22px;margin-top:20px}\n",
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(205px,1fr));gap:14px;"
    "margin-top:20px}\n",
    ".tile{padding:14px 18px}.tile b{display:block;font-size:36px;line-height:1.2;"
    "letter-spacing:-.02em;font-variant-numeric:tabular-nums}\n",
    ".tile em{font-style:normal;font-size:.62em;font-weight:600;margin-left:3px}\n",
    ".tile small{display:block;color:var(--soft);font-size:14px}\n",
    ".tile.main{background:var(--glow);border-color:var(--accent)}.tile.main "
    "b{color:var(--accent)}\n",
    ".meter,.bar{height:6px;border-radius:3px;background:var(--line);overflow:hidden;margin-top:"
    "6px}\n",
    ".bar{margin-top:3px;min-width:50px}.meter i,.bar i{display:block;height:100%;background:"
    "var(--accent)}.bar i{background:var(--soft)}\n",
    ".pair{display:grid;grid-template-columns:1fr 1fr;gap:26px;align-items:start}\n",
    ".pair>*{min-width:0}svg{display:block;width:100%;height:auto;overflow:visible}\n",
    "svg text{fill:var(--soft);font-size:12px;font-variant-numeric:tabular-nums}\n",
    "svg .unit{font-size:12px}svg .small{font-size:11px}"
    "svg .strong{fill:var(--accent);font-weight:700;font-size:13px}\n",
    ".grid{stroke:var(--line);stroke-width:1}.axis,.tick{stroke:var(--soft);stroke-width:1}\n",
    ".dot{opacity:.62}.faint{fill:var(--soft);opacity:.3}"
    ".failed{stroke:var(--bad);stroke-width:1.3;fill:none;opacity:.7}\n",
    ".stairs{fill:none;stroke:var(--accent);stroke-width:2.2;stroke-linejoin:round}\n",
    ".peak{fill:var(--accent);stroke:var(--card);stroke-width:2}\n",
    ".roof{fill:none;stroke:var(--soft);stroke-width:1.2;stroke-dasharray:4 4}"
    ".roof.far{stroke-width:2;stroke-dasharray:none}.base{fill:var(--soft);stroke:var(--card)}\n",
    ".tree{max-width:640px;margin:0 auto}.edge{fill:none;stroke:var(--line);stroke-width:1.1}"
    ".edge.way{stroke:var(--accent);stroke-width:2.6}.root{fill:var(--soft)}\n",
    "circle.bad{fill:var(--card);stroke:var(--bad);stroke-width:1.4}\n",
    ".legend{display:flex;flex-wrap:wrap;gap:4px 14px;align-items:center;color:var(--soft);"
    "font-size:14px}.tree+.legend{gap:4px 5px;justify-content:center}"
    ".tree+.legend span{margin:0 5px}\n",
    ".legend i,i.square{display:inline-block;width:10px;height:10px;border-radius:5px;"
    "font-style:normal}i.square{border-radius:2px;margin-right:3px}.legend span "
    "i{margin-right:5px}\n",
    ".legend i.line{width:18px;height:3px;border-radius:2px;background:var(--accent);"
    "vertical-align:middle}.legend i.cross{width:auto;height:auto;color:var(--bad);font-weight:700}"
    ".legend i.bad{background:none;border:1.5px solid var(--bad)}\n",
    "circle.p0,i.p0{fill:var(--p0);background:var(--p0)}circle.p1,i.p1{fill:var(--p1);"
    "background:var(--p1)}circle.p2,i.p2{fill:var(--p2);background:var(--p2)}circle.p3,i.p3{"
    "fill:var(--p3);background:var(--p3)}circle.p4,i.p4{fill:var(--p4);background:var(--p4)}"
    "circle.p5,i.p5{fill:var(--p5);background:var(--p5)}circle.p6,i.p6{fill:var(--p6);"
    "background:var(--p6)}circle.p7,i.p7{fill:var(--p7);background:var(--p7)}circle.p8,i.p8{"
    "fill:var(--p8);background:var(--p8)}circle.p9,i.p9{fill:var(--p9);background:var(--p9)}"
    "circle.p10,i.p10{fill:var(--p10);background:var(--p10)}\n",
    "circle.v0,i.v0{fill:var(--v0);background:var(--v0)}circle.v1,i.v1{fill:var(--v1);"
    "background:var(--v1)}circle.v2,i.v2{fill:var(--v2);background:var(--v2)}circle.v3,i.v3{"
    "fill:var(--v3);background:var(--v3)}circle.v4,i.v4{fill:var(--v4);background:var(--v4)}"
    "circle.v5,i.v5{fill:var(--v5);background:var(--v5)}circle.v6,i.v6{fill:var(--v6);"
    "background:var(--v6)}.tree circle{stroke:var(--card);stroke-width:1}\n",
    "i.good{background:var(--good)}.stack i.bad,i.square.bad{background:var(--bad)}i.ours{"
    "background:var(--ours)}\n",
    ".stack{display:flex;gap:2px;height:14px;border-radius:7px;overflow:hidden;margin-bottom:8px}"
    ".stack i{min-width:3px}\n",
    "table{border-collapse:collapse;width:100%;font-size:14px}th{text-align:left;font-weight:600;"
    "color:var(--soft);white-space:nowrap}\n",
    "td,th{padding:5px 10px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}"
    "tr:last-child td{border-bottom:0}.number{font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".who{white-space:nowrap}.narrow{width:auto}th.wide{width:60%}.winner "
    "td{background:var(--glow)}"
    ".scroll{overflow-x:auto}\n",
    ".steps{list-style:none;margin:0;padding:0}.steps li{display:grid;grid-template-columns:92px "
    "1fr;"
    "gap:14px;padding:0 0 14px;position:relative}\n",
    ".steps .speed{font-weight:700;text-align:right;font-variant-numeric:tabular-nums;"
    "padding-right:16px;border-right:2px solid var(--line)}.steps li:last-child .speed{"
    "color:var(--accent);border-color:var(--accent)}\n",
    ".steps b{overflow-wrap:anywhere}.steps p{margin:1px 0}.up{color:var(--good)}"
    ".down{color:var(--bad)}\n",
    ".tag{font-size:12px;border:1px solid var(--line);border-radius:9px;padding:0 7px;"
    "color:var(--soft);white-space:nowrap}\n",
    "pre{background:var(--code);border:1px solid var(--line);border-radius:8px;padding:12px 14px;"
    "overflow-x:auto;font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;margin:8px "
    "0;"
    "tab-size:4}\n",
    "code{font:.92em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}"
    ".code{max-height:70vh;overflow:auto}pre i{font-style:normal}"
    "pre .c{color:var(--soft)}pre .k{color:var(--p1)}pre .n{color:var(--p2)}pre .s{color:var(--p4)}"
    "pre .p{color:var(--p6)}\n",
    "summary{cursor:pointer;font-weight:600;padding:4px 0}\n",
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:3px 18px;font-size:14px;margin:12px "
    "0 0}"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}ul{margin:6px 0;padding-left:22px}\n",
    "@media(max-width:760px){main{padding:18px 12px 40px}.pair{grid-template-columns:1fr}"
    "section{padding:16px 14px}h1{font-size:25px}.tiles{grid-template-columns:1fr 1fr;gap:10px}"
    ".tile{padding:12px 14px}.tile b{font-size:27px}.steps li{grid-template-columns:66px "
    "1fr;gap:10px}"
    ".steps .speed{padding-right:10px;font-size:15px}table.big{min-width:600px}svg "
    "text{font-size:13.5px}"
    "svg .small{font-size:12.5px}dl{grid-template-columns:1fr}dd{margin-bottom:6px}}\n",
    "@media print{section{break-inside:avoid}body{background:#fff}}\n",
    NULL,
};

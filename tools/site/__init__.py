"""The documentation as a site: what mkdocs does besides turning docs into pages.

| file | does |
|---|---|
| `hooks` | what mkdocs calls |
| `sources` | files outside of docs that pages link to: their text as pages of the site |
| `examples`, `gallery`, `reports` | the examples: pictures, reports, links to what proves them; the audit |
| `notebooks` | notebooks as pages, with their pictures |
| `diagrams` | the state machines as pictures, the messages of a run |
| `home` | the timeline on the first page |
| `vendor` | scripts of other projects that come with the site: fetched once by npm and pip, never committed |
| `playground` | the engine for the browser |
"""

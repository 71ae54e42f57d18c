"""Drawing: charts as PNG and SVG, tables, the HTML page. Numbers come in finished; nothing is computed here."""

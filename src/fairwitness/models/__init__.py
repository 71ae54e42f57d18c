"""Everything that holds weights or talks to a service. It knows strings and arrays, and nothing of audits."""

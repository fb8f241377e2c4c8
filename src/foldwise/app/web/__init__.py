"""What the web servers of Foldwise share: where they may listen, tokens, limits, headers, start and stop.

`address` and `tokens` import no web library, so that options are checked at once. `middleware` and `running` need the
extra `web`.
"""

"""Providers: a payload as each provider's API takes it; pure functions from `Payload` to plain data.

All forms have the same messages and the same label map. Roles, tool calls and their results are put as the provider
wants them; what a form has no field for (a speaker's name, fields of another provider's messages) is left out of it,
and a content part that a form cannot hold raises SourceError. Nothing here needs a provider's SDK.
"""

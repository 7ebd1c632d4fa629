"""A template of your own: the passages in Markdown, without a tag in sight."""

from promptpack import PromptBuilder, TemplateSet

markdown = TemplateSet.from_string(
    system="{{ system }}\n\nAnswer from the passages and cite them like [{{ example }}].",
    source="### [{{ label }}] {{ source.title or 'Untitled' }}\n\n{{ text }}",
    user="{{ sources }}\n\n---\n\n{{ question }}",
    name="my-markdown",
)
payload = (
    PromptBuilder(window=4096, template=markdown, fields=("title",))
    .with_system("You are the help desk of a lamp shop.")
    .add_sources([{"id": "a", "text": "Returns are free.", "metadata": {"title": "Returns"}}])
    .with_question("What does a return cost?")
    .render()
)
print(payload.text)

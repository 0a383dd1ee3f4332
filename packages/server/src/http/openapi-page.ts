/** The description of the API as a plain page: no script, nothing from elsewhere. */
interface Described {
  readonly info: { readonly title: string; readonly version: string };
  readonly paths?: { readonly [path: string]: object } | undefined;
}
interface Operation {
  readonly summary?: string;
  readonly description?: string;
  readonly responses?: { readonly [status: string]: { readonly description?: string } };
}

export function openApiPage({ info, paths = {} }: Described): string {
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods as { readonly [method: string]: Operation }).map(
      ([method, { summary = '', description = '', responses = {} }]) =>
        `<tr><td><code>${escape(method.toUpperCase())} ${escape(path)}</code></td><td>${escape(summary)} ${marked(description)}</td><td>${answersOf(responses)}</td></tr>`,
    ),
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escape(info.title)} API</title>
<h1>${escape(info.title)} ${escape(info.version)}: the HTTP API</h1>
<p>The same as data: <a href="/openapi.json">/openapi.json</a>.</p>
<table><thead><tr><th>Request</th><th>What it does</th><th>Answers</th></tr></thead><tbody>
${rows.join('\n')}
</tbody></table></html>`;
}

function answersOf(responses: NonNullable<Operation['responses']>): string {
  return Object.entries(responses)
    .map(([status, { description = '' }]) => `${escape(status)} ${marked(description)}`)
    .join('<br>');
}

/** Words in backticks are code. */
function marked(text: string): string {
  return escape(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

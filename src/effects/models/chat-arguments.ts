/**
 * Some servers that speak Chat Completions leave out the `arguments` of a call without arguments, or send an object instead of text.
 * The AI SDK refuses such a response as a whole, so the arguments are written as text first.
 */
type Bytes = Uint8Array<ArrayBuffer>;

/** Rewrites the body of a JSON response. Anything else, and a body without such calls, passes as it is. */
export function writtenArguments(): TransformStream<Bytes, Bytes> {
  const chunks: Bytes[] = [];
  return new TransformStream({
    transform: (chunk) => void chunks.push(chunk),
    flush: (controller) => {
      const body = Buffer.concat(chunks);
      controller.enqueue(rewritten(body.toString('utf8')) ?? new Uint8Array(body));
    },
  });
}

interface ChatBody {
  readonly choices?: readonly {
    readonly message?: { readonly tool_calls?: readonly { readonly function?: { arguments?: unknown } }[] | null };
  }[];
}

function rewritten(text: string): Bytes | undefined {
  if (!text.includes('"tool_calls"')) return undefined;
  let body: ChatBody;
  try {
    body = JSON.parse(text) as ChatBody;
  } catch {
    return undefined;
  }
  const functions = (body.choices ?? []).flatMap(({ message }) =>
    (message?.tool_calls ?? []).flatMap((call) => call.function ?? []),
  );
  const odd = functions.filter((each) => typeof each.arguments !== 'string');
  for (const each of odd)
    each.arguments = each.arguments === undefined || each.arguments === null ? '' : JSON.stringify(each.arguments);
  return odd.length === 0 ? undefined : new TextEncoder().encode(JSON.stringify(body));
}

/**
 * Questions of MCP servers during a call. A call cannot wait for a person, so it fails with `McpInputRequired`. The run asks
 * a person and repeats the call with the answer, which is then given to the server at once.
 */
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { usableSchema } from '@sluice-internal/kernel/catalog';
import type { Json } from '@sluice-internal/kernel/expr';
import { fail, pure } from '@sluice-internal/engine/ports';
import type { ToolCall } from '../calls/tool.ts';

interface Asking {
  /** Answers of a person to the questions of this call, in order. */
  readonly answers: readonly Json[];
  given: number;
  unanswered: Unanswered | null;
}
interface Unanswered {
  readonly request: ElicitRequest['params'];
  /** The reason why the last answer does not fit; null if there was none. */
  readonly problem: string | null;
}

export class Elicitations {
  readonly #asking = new Set<Asking>();

  /** Runs one call. Throws if the server asked something that has no answer yet. */
  async during<T>({ server }: { readonly server: string }, { call }: ToolCall, work: () => Promise<T>): Promise<T> {
    const answers = call.command.input['elicited'];
    const asking: Asking = { answers: Array.isArray(answers) ? answers : [], given: 0, unanswered: null };
    this.#asking.add(asking);
    try {
      const result = await work().catch((error: unknown) => {
        if (asking.unanswered === null) throw error;
        return null as T;
      });
      if (asking.unanswered !== null)
        throw fail('semantic', 'McpInputRequired', questionText(server, asking.unanswered));
      return result;
    } finally {
      this.#asking.delete(asking);
    }
  }

  /** A question carries no id of its call, so it is refused if several calls run at once. */
  answer(request: ElicitRequest['params']): ElicitResult {
    const [asking, ...others] = this.#asking;
    if (asking === undefined || others.length > 0) return { action: 'cancel' };
    let problem: string | null = null;
    // An answer that does not fit is not given to the server. The person is asked again.
    for (const answer of asking.answers.slice(asking.given)) {
      asking.given += 1;
      const { choice, edit } = answer as { choice?: string; edit?: ElicitResult['content'] };
      if (choice !== 'accept') return { action: choice === 'decline' ? 'decline' : 'cancel' };
      problem = problemOf(request, edit ?? {});
      if (problem === null) return { action: 'accept', content: edit ?? {} };
    }
    asking.unanswered = { request, problem };
    return { action: 'cancel' };
  }
}

/** The reason why an answer does not fit the schema of the question; null if it fits, or if the schema cannot be used. */
function problemOf(request: ElicitRequest['params'], content: NonNullable<ElicitResult['content']>): string | null {
  if (!('requestedSchema' in request)) return null;
  try {
    return pure.validate(usableSchema(request.requestedSchema as unknown as Json), content);
  } catch {
    return null;
  }
}

function questionText(server: string, { request, problem }: Unanswered): string {
  const asks = `the MCP server \`${server}\` asks${problem === null ? '' : ` again, because the answer does not fit (${problem})`}`;
  if (!('requestedSchema' in request)) return `${asks}: ${request.message}`;
  const { properties, required = [] } = request.requestedSchema;
  const fields = Object.entries(properties).map(([name, schema]) => {
    const choices = 'enum' in schema && Array.isArray(schema.enum) ? ` (${schema.enum.join(', ')})` : '';
    return `${name}: ${schema.type}${choices}${required.includes(name) ? ', required' : ''}`;
  });
  return `${asks}: ${request.message} Fields: ${fields.join('; ')}`;
}

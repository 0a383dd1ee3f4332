/** What agents leave for one another and for people: the session's summary, and requests for review. */
import type { Json } from '../../expr/json.ts';
import type { ToolWork } from './context.ts';
import { fail } from './fail.ts';
import { changeState, readState } from './state-file.ts';

const CONTENT_MAX = 64 * 1024;
const CONTEXT = 'session-context.json';
const REVIEWS = 'reviews.json';

export const sessionContextWrite: ToolWork = async ({ args, workDir }) => {
  const content = args['content'] as string;
  const bytes = Buffer.byteLength(content);
  if (bytes > CONTENT_MAX)
    throw fail('semantic', 'TooLargeError', `a session's summary has at most ${CONTENT_MAX} bytes, not ${bytes}`);
  await changeState(workDir, CONTEXT, { content: '' }, () => ({ content }));
  return { bytes };
};

export const sessionContextRead: ToolWork = async ({ workDir }) => ({
  content: (await readState(workDir, CONTEXT, { content: '' })).content,
});

/** Says the keyword back as it came: whoever runs the turn decides what it means. */
export const handoff: ToolWork = ({ args }) => Promise.resolve(args['route_keyword'] ?? null);

export const reviewRequest: ToolWork = async ({ args, workDir, call }) => {
  const { queue = 'review', reason, severity = 'medium', evidence = [] } = args;
  const id = `q_${call.idempotencyKey.slice(0, 16)}`;
  const entry: Json = {
    id,
    queue,
    reason: reason ?? '',
    severity,
    evidence,
    run: call.command.run,
    at: new Date(call.clock.now()).toISOString(),
    state: 'queued',
  };
  await changeState<{ entries: { [field: string]: Json }[] }>(workDir, REVIEWS, { entries: [] }, ({ entries }) => ({
    entries: entries.some((each) => each['id'] === id) ? entries : [...entries, entry],
  }));
  return { id, queue, state: 'queued' };
};

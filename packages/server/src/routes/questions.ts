/** Open questions to people, and their answers. Who answers is the caller, and nobody that the body names. */
import { z } from '@hono/zod-openapi';
import { present } from '@sluice-internal/kernel/expr';
import { samePerson } from '@sluice-internal/kernel/ir';
import { SluiceError } from '@sluice-internal/library';
import type { Waiting } from '@sluice-internal/library';
import { mayUse, type Who } from '../auth/who.ts';
import { Refusal } from '../http/problem.ts';
import { Json, Page, addRoute, json, pageOf, type App } from '../http/routing.ts';
import { Question } from '../http/schemas.ts';
import type { Services } from '../http/services.ts';

const QuestionId = z.object({ id: z.string().max(500) });
const Answer = z
  .object({
    choice: z.string().max(200),
    payload: z.string().max(200),
    edit: Json.optional(),
    data: Json.optional(),
    text: z.string().max(20_000).optional(),
    signature: z.string().max(200).optional(),
    signedAt: z.int().optional(),
  })
  .strict()
  .openapi('Answer');

export function questionRoutes(app: App, services: Services): void {
  addRoute(
    app,
    services,
    {
      ...{ method: 'get', path: '/v1/questions', summary: 'The open questions.', access: 'approver' },
      query: z.object({ ...Page, for: z.literal('me').optional(), flow: z.string().optional() }),
      ...{ answers: { 200: pageOf(Question, 'QuestionPage') }, errors: ['bad-cursor'] },
    },
    async ({ query, who }) => {
      const view = await services.view(who);
      const { items, next } = await view.approvals({ limit: query.limit, ...present({ cursor: query.cursor }) });
      const shown = items.map((each) => questionOf(each, who));
      const wanted = shown.filter(
        ({ flow, mayAnswer }) => (query.flow ?? flow) === flow && (query.for !== 'me' || mayAnswer),
      );
      return json({ items: wanted, next });
    },
  );
  addRoute(
    app,
    services,
    {
      ...{
        method: 'get',
        path: '/v1/questions/{id}',
        summary: 'An open question.',
        access: 'approver',
        params: QuestionId,
      },
      ...{ answers: { 200: Question }, errors: ['approval-not-found'] },
    },
    async ({ params: { id }, who }) => json(questionOf(await demandQuestion(services, who, id), who)),
  );
  addRoute(
    app,
    services,
    {
      ...{ method: 'post', path: '/v1/questions/{id}/answer', summary: 'Answers a question.', access: 'approver' },
      ...{ params: QuestionId, body: Answer, answers: { 200: Answered } },
      errors: [
        ...['approval-not-found', 'approval-closed', 'already-answered', 'stale-payload', 'not-a-choice', 'bad-answer'],
        ...['not-an-approver', 'self-approval', 'identity-unproven'],
      ],
    },
    async ({ params: { id }, body, who }) => {
      const run = runIn(id);
      const view = await services.viewOf(who, run);
      const { data, ...given } = body;
      await view.answer(id, { ...present({ edit: data, ...given }), by: who.person ?? who.name });
      const open = (await view.approvals(run)).find((each) => each.id === id);
      return json({ state: open === undefined ? 'answered' : 'open', missing: open?.approvers?.missing ?? 0 });
    },
  );
}

const Answered = z.object({ state: z.enum(['answered', 'open']), missing: z.number() }).openapi('Answered');

async function demandQuestion(services: Services, who: Who, id: string): Promise<Waiting> {
  const view = await services.view(who);
  const open = await view.approvals(runIn(id)).catch((error: unknown) => {
    // A run of another tenant is as unknown as one that does not exist.
    if (error instanceof SluiceError && error.code === 'run-not-found') return [];
    throw error;
  });
  const found = open.find((each) => each.id === id);
  if (found !== undefined) return found;
  throw new Refusal('approval-not-found', `there is no open question \`${id}\``, {
    help: 'List them with GET /v1/questions.',
  });
}

/** The id of a question begins with `a_` and its run, and ends with its place. */
function runIn(id: string): string {
  const [, run] = /^a_(.+?)\.\d[\d.:]*$/.exec(id) ?? [];
  if (run !== undefined) return run;
  throw new Refusal('approval-not-found', `there is no open question \`${id}\``, {
    help: 'List them with GET /v1/questions.',
  });
}

function questionOf(waiting: Waiting, who: Who): Waiting & { readonly mayAnswer: boolean } {
  const { approvers } = waiting;
  const isOne =
    approvers === null || (who.person !== null && approvers.people.some((each) => samePerson(each, who.person ?? '')));
  return { ...waiting, mayAnswer: isOne && mayUse(who, 'approver') };
}

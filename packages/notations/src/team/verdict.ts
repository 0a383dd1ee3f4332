/**
 * The verifier of a team judges the message that ends the session. A "no" goes to the author of that message as a correction, which is
 * no bad turn, while `budgets.reflections` has room. The agent's turn begins where it began before, so the message passes the same gates
 * again. A "no" that stays fails the session.
 */
import { RETRY_CHECK } from '@sluice-internal/kernel/ir';
import { OBJECTION, VERDICT, addVerifier, errorOf, set } from '@sluice-internal/compile/lower';
import type { Verifier } from '@sluice-internal/compile/lower';
import { quote } from '@sluice-internal/compile/expressions';
import { END_VERDICT, finished, type Lowering } from './lowering.ts';
import { MESSAGE, OUTPUT, REFLECTED, SPEAKER, reject, tell } from './slots.ts';

/** The reflections of a session whose document sets no number. */
const REFLECTIONS = 2;

/** Adds the nodes of the verdict. `success` leads to them. */
export function addEndVerdict(l: Lowering, verifier: Verifier): void {
  const { kit, builder, team } = l;
  const least = verifier.confidence;
  const unsure = least === null ? 'false' : `(${VERDICT}.confidence == null || ${VERDICT}.confidence < ${least})`;
  const problem = `text(${VERDICT}.conflict != null ? ${VERDICT}.conflict : ${VERDICT}.problem != null ? ${OBJECTION} : "the verifier is not sure enough")`;
  const step = (what: string) => ({ hint: `verdict.${what}`, origin: team.id });
  const failed = kit.set(
    step('refused'),
    [set('error', errorOf({ type: 'VerifierError', message: problem }, team.id)), reject(problem)],
    builder.failedEnd(OUTPUT),
  );
  const max = team.definitions.budgets?.reflections ?? REFLECTIONS;
  const charges = [kit.visits('reflections:team', max, failed, `verdicts on the end of ${team.id}`)];
  const reflected = `(${REFLECTED} == null ? 0 : ${REFLECTED})`;
  const words = `text("This is not acceptable: ", ${problem}, ". Correct it.")`;
  const authors = l.turns.map(({ place, agent, begin }) => ({
    when: `${SPEAKER} == ${quote(place)}`,
    to: kit.set(
      { hint: `${place}.verdict.correction`, origin: 'correction:verdict', charges },
      [tell(words, agent), set(REFLECTED, `${reflected} + 1`)],
      begin,
    ),
  }));
  const paid = kit.call(
    { ...step('paid'), onBudget: failed },
    {
      effect: { kind: 'check', check: RETRY_CHECK, input: { name: quote(team.id) }, reserve: { reflections: 1 } },
      shared: { retryBudget: null },
      next: kit.pick(step('author'), authors, failed),
      fail: failed,
    },
  );
  const known = l.turns.map(({ place }) => `${SPEAKER} == ${quote(place)}`).join(' || ');
  const judged = kit.pick(
    step('judged'),
    [
      { when: `${VERDICT}.ok == true && ${VERDICT}.conflict == null && !${unsure}`, to: finished(l) },
      { when: `${VERDICT}.ok == null || ${reflected} >= ${max} || !(${known === '' ? 'false' : known})`, to: failed },
    ],
    paid,
  );
  addVerifier(kit, verifier, {
    id: END_VERDICT,
    hint: 'session',
    origin: team.id,
    agent: team.names[0] ?? '',
    goal: 'input',
    people: '[]',
    answer: MESSAGE,
    criteria: [],
    next: judged,
  });
}

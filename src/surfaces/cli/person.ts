/** The person at this process: the one in `people` whose user of the operating system it is. */
import type { PeopleDef } from '../../ir/people.ts';
import type { Waiting } from '../../runtime/engine/types.ts';
import { currentUser } from './ask-person.ts';

/** The id of the person whom the user of this process is, by `people`. Undefined if no person has this user. */
export function personHere(people: PeopleDef | undefined): string | undefined {
  const user = currentUser();
  return Object.keys(people ?? {}).find(
    (id) => people?.[id]?.key === undefined && (people?.[id]?.osUser ?? id) === user,
  );
}

/** True if the person at the terminal may answer this question here. Signed answers go through `sluice answer`. */
export function mayAnswerHere({ approvers }: Waiting, people: PeopleDef | undefined): boolean {
  const here = personHere(people);
  return approvers === null || (here !== undefined && approvers.people.includes(here));
}

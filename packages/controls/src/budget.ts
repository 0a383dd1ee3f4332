/**
 * The amounts that the call reserves must be free before a person is asked: a call that can never fit is not asked about. Nothing
 * is taken: the request itself reserves.
 */
import type { ControlFile } from './control.ts';
import { BUDGET } from './errors.ts';
import { mayAsk } from './reach.ts';

export const budgetControl: ControlFile = {
  name: 'budget',
  lower: (call, boundary) =>
    call.agent === null && !mayAsk(call, boundary)
      ? null
      : {
          control: 'budget',
          how: 'meter',
          onRefuse: 'fail',
          volatile: true,
          with: { tag: 'BUDGET', error: BUDGET },
        },
};

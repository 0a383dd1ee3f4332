/** The amounts that the call reserves must be free before a person is asked: a call that can never fit is not asked about. */
import type { ControlFile } from './control.ts';
import { BUDGET } from './errors.ts';

export const budgetControl: ControlFile = {
  name: 'budget',
  lower: () => ({
    control: 'budget',
    how: 'meter',
    onRefuse: 'fail',
    volatile: true,
    with: { tag: 'BUDGET', error: BUDGET },
  }),
};

/** The amount, the recipients and the payee that the document states of a call. Without one of them, a person decides. */
import { statesOfCalls } from '@sluice-internal/kernel/ir';
import type { ControlFile } from './control.ts';
import { UNAPPROVABLE } from './errors.ts';

export const statedControl: ControlFile = {
  name: 'stated',
  lower({ def }) {
    if (!statesOfCalls(def)) return null;
    const words = { step: 'risk', tag: 'DENIED', error: UNAPPROVABLE } as const;
    return {
      control: 'stated',
      how: 'check',
      onRefuse: 'fail',
      with: { check: 'stated', input: {}, asks: true, ...words },
    };
  },
  perform: (call, { readStated }) => readStated(call),
};

/** The staged notation. This version recognises its documents and refuses them. */
import { FULL_PROTECTIONS } from '../../document/protections.ts';
import type { Notation } from '../notation.ts';

export const stagedNotation: Notation = {
  name: 'staged',
  key: 'staged',
  protections: FULL_PROTECTIONS,
  lower(document, _, report) {
    report.error('unsupported-notation', document.at, 'this version does not run `staged` documents yet', {
      help: 'It runs `flow`, `workflow`, `Orchestration` and `loop`.',
    });
    return { lowered: null, picture: null };
  },
};

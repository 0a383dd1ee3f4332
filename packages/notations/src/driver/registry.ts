/** All notations. To add one, write its object and list it here. */
import { flowNotation } from '../flow/notation.ts';
import { loopNotation } from '../loop/notation.ts';
import type { Notation } from '@sluice-internal/compile/rules';
import { stagedNotation } from '../staged/notation.ts';
import { teamNotation } from '../team/notation.ts';
import { workflowNotation } from '../workflow/notation.ts';

export const NOTATIONS: readonly Notation[] = [
  flowNotation,
  workflowNotation,
  teamNotation,
  stagedNotation,
  loopNotation,
];

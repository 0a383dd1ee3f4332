/** The built-in validators. To add one, write it, list it here, and add its name to `catalog/validators.ts`. */
import type { ValidatorName } from '@sluice-internal/kernel/catalog';
import type { Validator } from '../evidence.ts';
import { architectureValidator } from './architecture.ts';
import { requireRelatedTestsPass } from './related-tests.ts';
import { requireAcceptanceCriteriaPassed, requireReviewJudgement, testReportValid } from './reports.ts';
import {
  blockOnConsecutiveFail,
  requireAllFilesWritten,
  requireBrief,
  requireSessionContextWrite,
  requireShellPass,
  requireWriteFile,
} from './turn.ts';

export const BUILTIN_VALIDATORS: { readonly [name in ValidatorName]: Validator } = {
  RequireBrief: requireBrief,
  RequireWriteFile: requireWriteFile,
  RequireAllFilesWritten: requireAllFilesWritten,
  RequireShellPass: requireShellPass,
  TestReportValid: testReportValid,
  RequireReviewJudgement: requireReviewJudgement,
  RequireAcceptanceCriteriaPassed: requireAcceptanceCriteriaPassed,
  RequireRelatedTestsPass: requireRelatedTestsPass,
  BlockOnConsecutiveFail: blockOnConsecutiveFail,
  ArchitectureValidator: architectureValidator,
  RequireSessionContextWrite: requireSessionContextWrite,
};

/** The built-in validators by name. */
import type { ValidatorName } from '../../catalog/validators.ts';
import { architectureValidator } from './architecture.ts';
import type { Validator } from './evidence.ts';
import { requireRelatedTestsPass } from './related-tests.ts';
import { requireAcceptanceCriteriaPassed, requireReviewJudgement, testReportValid } from './report-validators.ts';
import {
  blockOnConsecutiveFail,
  requireAllFilesWritten,
  requireBrief,
  requireSessionContextWrite,
  requireShellPass,
  requireWriteFile,
} from './turn-validators.ts';

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

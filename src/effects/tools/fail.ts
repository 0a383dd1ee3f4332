/** The failures of tools, each with a class that decides what follows and a type that flows can route on. */
import type { FailureClass } from '../../ir/codes.ts';
import { PerformError } from '../../runtime/failures.ts';

export function fail(failure: FailureClass, type: string, message: string): PerformError {
  return new PerformError({ class: failure, type, message });
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Something that shows a run while it goes on. */
import type { EffectKey, Event } from '../../../ir/events.ts';

export interface View {
  take(event: Event): void;
  /** What the model of a call under way has just said. */
  hear(key: EffectKey, text: string): void;
  /** Leaves what is drawn where it is, so that something else may be written below; the next event draws anew. */
  pause(): void;
  /** Nothing is shown any more after this. */
  end(): void;
}

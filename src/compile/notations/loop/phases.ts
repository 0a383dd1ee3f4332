/** The control loop in its order. Each phase is a node of that name, so that a trace can be read against the list. */
export const PHASES = [
  'goal_intake',
  'scope_resolution',
  'policy_check',
  'state_init',
  'plan_selection',
  'budget_assign',
  'tool_eligibility',
  'action_selection',
  'tool_invocation',
  'observation_grounding',
  'state_update',
  'validation_check',
  'reflection_trigger',
  'termination_check',
  'escalation_check',
  'final_response',
  'memory_write',
  'trace_logging',
] as const;
export type Phase = (typeof PHASES)[number];

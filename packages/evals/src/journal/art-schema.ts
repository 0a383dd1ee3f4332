/** The JSON Schema of the Agent Run Trace. `schema/agent-run-trace.schema.json` is written from it. */

const text = { type: 'string' } as const;
const seq = { type: 'integer', minimum: 1 } as const;
const seqOrNull = { type: ['integer', 'null'], minimum: 1 } as const;
const textOrNull = { type: ['string', 'null'] } as const;
const digest = { type: 'string', pattern: '^sha256:[0-9a-f]{64}$' } as const;

function entry(properties: { readonly [field: string]: object }): object {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}
function byName(value: object): object {
  return { type: 'object', additionalProperties: value };
}

export const ART_SCHEMA: object = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'https://sluice.dev/schema/agent-run-trace.schema.json',
  title: 'Agent Run Trace',
  description: 'The fields that every run must record. `sluice trace RUN --format art` prints them.',
  ...entry({
    run_id: { ...text, minLength: 1, description: 'Stable identifier of the run.' },
    tenant_id: { ...text, minLength: 1, description: 'The tenant; `default` if the run was started for none.' },
    user_scope: { ...text, minLength: 1, description: 'The user; `default` if the run was started for none.' },
    goal_object: { description: 'The goal of the run, or its flow and input.' },
    autonomy_boundary_version: { ...byName(text), description: 'The version of the boundary, by agent.' },
    workflow_graph_version: { ...digest, description: 'The hash of the compiled graph.' },
    model_versions: { ...byName(text), description: 'The model, by agent.' },
    prompt_template_versions: { ...byName(digest), description: 'The hash of the instructions, by agent.' },
    tool_registry_version: { ...digest, description: 'The hash of all tools with their schemas.' },
    state_checkpoints: {
      description: 'Every change of the state, with the observation that was accepted before it.',
      type: 'array',
      items: entry({
        seq,
        branch: text,
        node: text,
        slots: { type: 'array', items: text, minItems: 1 },
        verified_by: seqOrNull,
      }),
    },
    tool_calls: {
      description: 'Every tool call that was proposed or made.',
      type: 'array',
      items: entry({
        seq,
        tool: text,
        arguments_hash: digest,
        request_id: text,
        status: { enum: ['ok', 'failed', 'pending', 'refused'] },
        attempts: { type: 'integer', minimum: 0 },
        observation: seqOrNull,
      }),
    },
    budget_vector: {
      description: 'Use and limit in every dimension; the limit is null where there is none.',
      ...byName(entry({ used: { type: 'number', minimum: 0 }, limit: { type: ['number', 'null'], minimum: 0 } })),
    },
    validation_results: {
      description: 'Checks of schema, safety, grounding and acceptance.',
      type: 'array',
      items: entry({
        seq,
        kind: { enum: ['schema', 'safety', 'grounding', 'acceptance'] },
        subject: text,
        passed: { type: 'boolean' },
        reason: textOrNull,
      }),
    },
    escalation_events: {
      description: 'Questions to people and their answers.',
      type: 'array',
      items: entry({
        seq,
        id: text,
        about: text,
        code: text,
        requested_by: text,
        decision: textOrNull,
        decided_by: textOrNull,
        decided_at_seq: seqOrNull,
        outcome: { enum: ['open', 'answered', 'expired', 'closed'] },
      }),
    },
    terminal_code: { ...textOrNull, description: 'One of the 17 codes; null while the run works.' },
  }),
};

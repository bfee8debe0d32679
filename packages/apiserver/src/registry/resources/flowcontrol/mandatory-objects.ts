/**
 * The mandatory FlowSchemas and PriorityLevelConfigurations: an object of one of these names must
 * have the mandatory spec.
 */
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";

const everything: JsonObject = {
  resourceRules: [
    { verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true },
  ],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};
const group = (name: string): JsonObject => ({ kind: "Group", group: { name } });

const fixedSchemas: ReadonlyMap<string, JsonObject> = new Map([
  [
    "exempt",
    {
      priorityLevelConfiguration: { name: "exempt" },
      matchingPrecedence: 1,
      rules: [{ subjects: [group("system:masters")], ...everything }],
    },
  ],
  [
    "catch-all",
    {
      priorityLevelConfiguration: { name: "catch-all" },
      matchingPrecedence: 10_000,
      distinguisherMethod: { type: "ByUser" },
      rules: [
        {
          subjects: [group("system:unauthenticated"), group("system:authenticated")],
          ...everything,
        },
      ],
    },
  ],
]);

const catchAllLevel: JsonObject = {
  type: "Limited",
  limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: "Reject" } },
};

export function mandatorySchemaErrors(name: string, spec: JsonObject): FieldError[] {
  const fixed = fixedSchemas.get(name);
  if (fixed === undefined || jsonEqual(fixed, spec)) return [];
  return [fieldError.invalid("spec", spec, `spec of '${name}' must equal the fixed value`)];
}

/** The seats of the exempt level are configurable. */
export function mandatoryLevelErrors(name: string, spec: JsonObject): FieldError[] {
  if (name === "exempt") {
    const { exempt: _, ...rest } = spec;
    if (jsonEqual(rest, { type: "Exempt" })) return [];
    const why = "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value";
    return [fieldError.invalid("spec", spec, why)];
  }
  if (name !== "catch-all" || jsonEqual(spec, catchAllLevel)) return [];
  return [fieldError.invalid("spec", spec, "spec of 'catch-all' must equal the fixed value")];
}

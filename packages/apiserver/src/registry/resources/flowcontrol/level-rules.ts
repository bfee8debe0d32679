/** Validates a PriorityLevelConfiguration, with upstream's messages. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { objectIn, textIn } from "../standard.ts";
import { mandatoryLevelErrors } from "./mandatory-objects.ts";

const types = ["Exempt", "Limited"];
const responses = ["Queue", "Reject"];
const queuesMax = 10_000_000;
/** Upstream deals hands from a 64-bit hash, of which it uses this many bits. */
const entropyBitsMax = 60;

export function levelErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const name = textIn(objectIn(object, "metadata"), "name");
  const type = textIn(spec, "type");
  const errors: FieldError[] = [];
  if ((name === "exempt") !== (type === "Exempt"))
    errors.push(
      fieldError.invalid("spec.type", type, "must be 'Exempt' if and only if `name` is 'exempt'"),
    );
  return [...errors, ...typeErrors(spec, type), ...mandatoryLevelErrors(name, spec)];
}

function typeErrors(spec: JsonObject, type: string): FieldError[] {
  const { limited, exempt } = spec;
  if (type === "Exempt")
    return [
      ...(limited === undefined
        ? []
        : [fieldError.forbidden("spec.limited", "must be nil if the type is not Limited")]),
      ...shareErrors(objectIn(spec, "exempt"), "spec.exempt"),
      ...lendableErrors(objectIn(spec, "exempt"), "spec.exempt"),
    ];
  if (type === "") return [fieldError.required("spec.type")];
  if (type !== "Limited") return [fieldError.notSupported("spec.type", type, types)];
  return [
    ...(exempt === undefined
      ? []
      : [fieldError.forbidden("spec.exempt", "must be nil if the type is Limited")]),
    ...(isJsonObject(limited)
      ? limitedErrors(limited)
      : [fieldError.required("spec.limited", "must not be empty when type is Limited")]),
  ];
}

function shareErrors(share: JsonObject, at: string): FieldError[] {
  const shares = Number(share["nominalConcurrencyShares"] ?? 0);
  const why = "must be a non-negative integer";
  return shares < 0 ? [fieldError.invalid(`${at}.nominalConcurrencyShares`, shares, why)] : [];
}

function lendableErrors(share: JsonObject, at: string): FieldError[] {
  const lendable = Number(share["lendablePercent"] ?? 0);
  const why = "must be between 0 and 100, inclusive";
  return lendable < 0 || lendable > 100
    ? [fieldError.invalid(`${at}.lendablePercent`, lendable, why)]
    : [];
}

function limitedErrors(limited: JsonObject): FieldError[] {
  const at = "spec.limited";
  const borrowing = limited["borrowingLimitPercent"];
  const why = "if specified, must be a non-negative integer";
  return [
    ...shareErrors(limited, at),
    ...responseErrors(objectIn(limited, "limitResponse"), `${at}.limitResponse`),
    ...lendableErrors(limited, at),
    ...(borrowing !== undefined && Number(borrowing) < 0
      ? [fieldError.invalid(`${at}.borrowingLimitPercent`, borrowing, why)]
      : []),
  ];
}

function responseErrors(response: JsonObject, at: string): FieldError[] {
  const { queuing } = response;
  const field = `${at}.queuing`;
  const type = textIn(response, "type");
  switch (type) {
    case "":
      return [fieldError.required(`${at}.type`)];
    case "Reject": {
      const why = "must be nil if limited.limitResponse.type is not Limited";
      return queuing === undefined ? [] : [fieldError.forbidden(field, why)];
    }
    case "Queue": {
      const why = "must not be empty if limited.limitResponse.type is Limited";
      return isJsonObject(queuing)
        ? queuingErrors(queuing, field)
        : [fieldError.required(field, why)];
    }
    default:
      return [fieldError.notSupported(`${at}.type`, type, responses)];
  }
}

function queuingErrors(queuing: JsonObject, at: string): FieldError[] {
  const [length, queues, hand] = ["queueLengthLimit", "queues", "handSize"].map((member) =>
    Number(queuing[member] ?? 0),
  ) as [number, number, number];
  const errors: FieldError[] = [];
  const invalid = (member: string, value: number, why: string) =>
    errors.push(fieldError.invalid(`${at}.${member}`, value, why));
  if (length <= 0) invalid("queueLengthLimit", length, "must be positive");
  if (queues <= 0) invalid("queues", queues, "must be positive");
  else if (queues > queuesMax) invalid("queues", queues, `must not be greater than ${queuesMax}`);
  if (hand <= 0) invalid("handSize", hand, "must be positive");
  else if (hand > queues)
    invalid("handSize", hand, `should not be greater than queues (${queues})`);
  else if (entropyBits(queues, hand) > entropyBitsMax)
    invalid(
      "handSize",
      hand,
      `required entropy bits of deckSize ${queues} and handSize ${hand} should not be greater than ${entropyBitsMax}`,
    );
  return errors;
}

/** The bits that upstream counts for dealing a hand. */
function entropyBits(queues: number, hand: number): number {
  return Math.ceil(Math.log2(queues) * hand);
}

/** What is wrong with a PriorityLevelConfiguration, as upstream words it. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { objectIn, textIn } from "../standard.ts";

const types = ["Exempt", "Limited"];
const responses = ["Queue", "Reject"];
const queuesMax = 10_000_000;
/** Upstream deals hands from a 64-bit hash, of which it uses this much. */
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
  const { limited, exempt } = spec;
  if (type === "Exempt") {
    if (limited !== undefined)
      errors.push(fieldError.forbidden("spec.limited", "must be nil if the type is not Limited"));
    return [...errors, ...shareErrors(objectIn(spec, "exempt"), "spec.exempt")];
  }
  if (type === "") return [...errors, fieldError.required("spec.type")];
  if (type !== "Limited") return [...errors, fieldError.notSupported("spec.type", type, types)];
  if (exempt !== undefined)
    errors.push(fieldError.forbidden("spec.exempt", "must be nil if the type is Limited"));
  if (!isJsonObject(limited))
    return [
      ...errors,
      fieldError.required("spec.limited", "must not be empty when type is Limited"),
    ];
  return [...errors, ...limitedErrors(limited)];
}

function shareErrors(share: JsonObject, at: string): FieldError[] {
  const errors: FieldError[] = [];
  const shares = Number(share["nominalConcurrencyShares"] ?? 0);
  const lendable = Number(share["lendablePercent"] ?? 0);
  if (shares < 0)
    errors.push(
      fieldError.invalid(
        `${at}.nominalConcurrencyShares`,
        shares,
        "must be a non-negative integer",
      ),
    );
  if (lendable < 0 || lendable > 100)
    errors.push(
      fieldError.invalid(`${at}.lendablePercent`, lendable, "must be between 0 and 100, inclusive"),
    );
  return errors;
}

function limitedErrors(limited: JsonObject): FieldError[] {
  const at = "spec.limited";
  const errors = shareErrors(limited, at);
  const borrowing = limited["borrowingLimitPercent"];
  if (borrowing !== undefined && Number(borrowing) < 0)
    errors.push(
      fieldError.invalid(
        `${at}.borrowingLimitPercent`,
        borrowing,
        "if specified, must be a non-negative integer",
      ),
    );
  const response = objectIn(limited, "limitResponse");
  const type = textIn(response, "type");
  const { queuing } = response;
  const field = `${at}.limitResponse`;
  if (type === "Reject") {
    if (queuing !== undefined)
      errors.push(
        fieldError.forbidden(
          `${field}.queuing`,
          "must be nil if limited.limitResponse.type is not Limited",
        ),
      );
  } else if (type !== "Queue")
    errors.push(fieldError.notSupported(`${field}.type`, type, responses));
  else if (!isJsonObject(queuing))
    errors.push(
      fieldError.required(
        `${field}.queuing`,
        "must not be empty if limited.limitResponse.type is Limited",
      ),
    );
  else errors.push(...queuingErrors(queuing, `${field}.queuing`));
  return errors;
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

/** Bits that it takes to deal a hand: the logarithm of the number of hands. */
function entropyBits(queues: number, hand: number): number {
  let bits = 0;
  for (let i = 0; i < hand && bits <= entropyBitsMax; i++) bits += Math.log2(queues - i);
  return Math.ceil(bits);
}

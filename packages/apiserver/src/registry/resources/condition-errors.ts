/** Validates the conditions of an object, with upstream's messages. */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { qualifiedNameErrors, utf8Length } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { itemErrors, textIn } from "./standard.ts";

const statuses = ["False", "True", "Unknown"];
const reasonBytesMax = 1024;
const messageBytesMax = 32 * 1024;
const reasonRule =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

export function conditionErrors(conditions: JsonValue | undefined, field: string): FieldError[] {
  const seen = new Set<string>();
  return itemErrors<JsonObject>(conditions, field, (condition, at) => {
    const type = textIn(condition, "type");
    const repeated = seen.has(type) ? [fieldError.duplicate(at, type)] : [];
    seen.add(type);
    return [...repeated, ...oneConditionErrors(condition, at)];
  });
}

function oneConditionErrors(condition: JsonObject, at: string): FieldError[] {
  const [type, status, reason, message] = ["type", "status", "reason", "message"].map((member) =>
    textIn(condition, member),
  ) as [string, string, string, string];
  const errors =
    type === ""
      ? [fieldError.required(`${at}.type`, "is required")]
      : qualifiedNameErrors(type).map((text) => fieldError.invalid(`${at}.type`, type, text));
  if (!statuses.includes(status))
    errors.push(fieldError.notSupported(`${at}.status`, status, statuses));
  const generation = Number(condition["observedGeneration"] ?? 0);
  if (generation < 0) {
    const why = "must be greater than or equal to zero";
    errors.push(fieldError.invalid(`${at}.observedGeneration`, generation, why));
  }
  if (condition["lastTransitionTime"] === undefined)
    errors.push(fieldError.required(`${at}.lastTransitionTime`));
  if (reason === "") errors.push(fieldError.required(`${at}.reason`));
  else if (!/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/.test(reason))
    errors.push(fieldError.invalid(`${at}.reason`, reason, reasonRule));
  if (utf8Length(reason) > reasonBytesMax)
    errors.push(fieldError.tooLong(`${at}.reason`, reasonBytesMax));
  if (utf8Length(message) > messageBytesMax)
    errors.push(fieldError.tooLong(`${at}.message`, messageBytesMax));
  return errors;
}

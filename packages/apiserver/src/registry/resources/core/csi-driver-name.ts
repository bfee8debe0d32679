/** The rule of the names by which CSI drivers are known. */
import { dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";

const nameBytesMax = 63;

export function csiDriverNameErrors(name: string, field: string): FieldError[] {
  if (name === "") return [fieldError.required(field)];
  return [
    ...(name.length > nameBytesMax ? [fieldError.tooLong(field, nameBytesMax)] : []),
    ...dnsSubdomainErrors(name.toLowerCase()).map((text) => fieldError.invalid(field, name, text)),
  ];
}

/** Reservations as parts carry them: `cpu=2,memory=4Gi,pods=4,workloads=1`. */
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import { reservedAnnotation } from "../api/index.ts";
import { type Amounts, amountsOf, quantitiesOf } from "./amounts.ts";

export function formatReservation(amounts: Amounts): string {
  return Object.entries(quantitiesOf(amounts))
    .map(([name, quantity]) => `${name}=${quantity}`)
    .join(",");
}

/** What cannot be read reserves nothing. */
export function readReservation(annotations: StringMap | undefined): Amounts {
  const text = stringMember(annotations, reservedAnnotation) ?? "";
  const quantities: Record<string, string> = {};
  for (const piece of text.split(",")) {
    const [, name = "", quantity = ""] = /^([^=]+)=(.+)$/.exec(piece) ?? [];
    if (name !== "") quantities[name] = quantity;
  }
  return amountsOf(quantities);
}

/** The reservations on per-cluster objects: `cpu=2,memory=4Gi,pods=4,workloads=1`. */
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import { reservedAnnotation } from "../api/index.ts";
import {
  formatResourceAmounts,
  parseResourceAmounts,
  type ResourceAmounts,
} from "./resource-amounts.ts";

const texts = new WeakMap<ResourceAmounts, string>();

export function formatReservation(amounts: ResourceAmounts): string {
  let text = texts.get(amounts);
  if (text === undefined) {
    text = Object.entries(formatResourceAmounts(amounts))
      .map(([name, quantity]) => `${name}=${quantity}`)
      .join(",");
    texts.set(amounts, text);
  }
  return text;
}

/** The reservation; an invalid annotation reserves nothing. */
export function readReservation(annotations: StringMap | undefined): ResourceAmounts {
  return readReservationText(stringMember(annotations, reservedAnnotation) ?? "");
}

export function readReservationText(text: string): ResourceAmounts {
  let amounts = readings.get(text);
  if (amounts === undefined) {
    amounts = readText(text);
    if (readings.size >= readingsMax) readings.clear();
    readings.set(text, amounts);
  }
  return amounts;
}

/** Cache of parsed annotations: many copies have the same value. */
const readings = new Map<string, ResourceAmounts>();
const readingsMax = 4096;

function readText(text: string): ResourceAmounts {
  const quantities: Record<string, string> = {};
  for (const piece of text.split(",")) {
    const [, name = "", quantity = ""] = /^([^=]+)=(.+)$/.exec(piece) ?? [];
    if (name !== "") quantities[name] = quantity;
  }
  return parseResourceAmounts(quantities);
}

/** Who comes to own the fields of a write: the `fieldManager` of the query, or the program that sends it. */
import { fieldManagerOf } from "@kcp-ts/machinery/apply";
import type { FieldOwner } from "../registry/index.ts";
import { header } from "../request/api-request.ts";
import type { HandlerRequest } from "./context.ts";
import type { MutationOptions } from "./options.ts";

export function fieldOwner(
  { request, scope }: HandlerRequest,
  { fieldManager }: MutationOptions,
  kind: "apply" | "update",
): FieldOwner {
  return {
    manager: fieldManager !== "" ? fieldManager : programOf(header(request.headers, "user-agent")),
    subresource: scope.subresource,
    isApply: kind === "apply",
  };
}

const remembered = new Map<string, string>();
const rememberedMax = 1000;
const rememberedLengthMax = 256;

/** Clients send the same few texts with every write, and taking one apart costs as much as a tenth of a create. */
function programOf(userAgent = ""): string {
  let manager = remembered.get(userAgent);
  if (manager === undefined) {
    manager = fieldManagerOf("", userAgent);
    if (userAgent.length > rememberedLengthMax) return manager;
    if (remembered.size >= rememberedMax) remembered.clear();
    remembered.set(userAgent, manager);
  }
  return manager;
}

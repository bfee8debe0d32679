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
    manager: fieldManagerOf(fieldManager, header(request.headers, "user-agent") ?? ""),
    subresource: scope.subresource,
    isApply: kind === "apply",
  };
}

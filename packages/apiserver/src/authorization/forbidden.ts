/** The 403 of a denied request. Clients and tests match fragments of these texts. */
import { quote, type StatusError, statusError } from "@kcp-ts/machinery/status";
import type { Attributes } from "../request/index.ts";

/** `reason`, when not empty, is shown to the client. */
export function forbidden(attributes: Attributes, reason = ""): StatusError {
  const message = forbiddenMessage(attributes) + (reason === "" ? "" : `: ${reason}`);
  const { group, resource, name } = attributes;
  return attributes.isResourceRequest
    ? statusError.forbidden({ group, resource }, name, message)
    : statusError.forbiddenPath(message);
}

/**
 * The user and the denied action. `&`, `<` and `>` are escaped, since a browser may interpret the
 * response as HTML.
 */
export function forbiddenMessage(attributes: Attributes): string {
  return sanitize(`User ${quote(attributes.user.username)} cannot ${action(attributes)}`);
}

function action({ verb, ...attributes }: Attributes): string {
  if (!attributes.isResourceRequest) return `${verb} path ${quote(attributes.path)}`;
  const { resource, subresource, namespace } = attributes;
  const target = subresource === "" ? resource : `${resource}/${subresource}`;
  const scope = namespace === "" ? "at the cluster scope" : `in the namespace ${quote(namespace)}`;
  return `${verb} resource ${quote(target)} in API group ${quote(attributes.group)} ${scope}`;
}

function sanitize(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

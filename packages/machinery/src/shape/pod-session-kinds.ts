/**
 * The options of sessions with Pods: created from a query, never stored, and passed to admission.
 */
import { podAttachOptions, podExecOptions, podPortForwardOptions } from "./generated/core-v1.ts";

const core = { group: "", version: "v1" } as const;

/** By the subresource of Pods. */
export const podSessionKinds = {
  exec: { ...core, kind: "PodExecOptions", shape: podExecOptions },
  attach: { ...core, kind: "PodAttachOptions", shape: podAttachOptions },
  portforward: { ...core, kind: "PodPortForwardOptions", shape: podPortForwardOptions },
} as const;

/**
 * The options of sessions with Pods: created from a query, never stored, and passed to admission.
 * Numbers are those of the published protobuf files.
 */
import { bool, int32, list, message, string } from "./shape.ts";

const core = "io.k8s.api.core.v1";

const streams = {
  stdin: [1, bool, "Whether standard input is sent."],
  stdout: [2, bool, "Whether standard output is received."],
  stderr: [3, bool, "Whether standard error is received."],
  tty: [4, bool, "Whether there is a terminal."],
  container: [5, string, "The container; the only one of the Pod if left out."],
} as const;

const options = { group: "", version: "v1" } as const;

export const podExecOptions = {
  ...options,
  kind: "PodExecOptions",
  shape: message(
    `${core}.PodExecOptions`,
    { ...streams, command: [6, list(string), "The command and its arguments."] },
    "What a command in a container is run with.",
    { required: ["command"] },
  ),
} as const;

export const podAttachOptions = {
  ...options,
  kind: "PodAttachOptions",
  shape: message(`${core}.PodAttachOptions`, streams, "What a container is attached to with."),
} as const;

export const podPortForwardOptions = {
  ...options,
  kind: "PodPortForwardOptions",
  shape: message(
    `${core}.PodPortForwardOptions`,
    { ports: [1, list(int32), "The ports, where a WebSocket is asked for."] },
    "Which ports of a Pod are forwarded.",
  ),
} as const;

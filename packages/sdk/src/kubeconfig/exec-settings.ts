/** The `exec` section of a user: a command that creates credentials. */
import { type Fields, KubeconfigError } from "./fields.ts";

export interface ExecSettings {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly installHint: string | undefined;
  readonly provideClusterInfo: boolean;
  readonly interactiveMode: "Never" | "IfAvailable" | "Always";
}

const v1 = "client.authentication.k8s.io/v1";
const v1beta1 = "client.authentication.k8s.io/v1beta1";

export function readExec(fields: Fields, resolvePath: (path: string) => string): ExecSettings {
  const apiVersion = fields.requiredText("apiVersion");
  if (apiVersion !== v1 && apiVersion !== v1beta1) {
    throw new KubeconfigError(`exec.apiVersion: ${apiVersion} is not supported, use ${v1}`);
  }
  const command = fields.requiredText("command");
  return {
    apiVersion,
    // A bare name is looked up in PATH, a path is relative to the kubeconfig.
    command: command.includes("/") ? resolvePath(command) : command,
    args: fields.texts("args"),
    env: fields
      .objects("env")
      .map((one) => ({ name: one.requiredText("name"), value: one.text("value") ?? "" })),
    installHint: fields.text("installHint"),
    provideClusterInfo: fields.flag("provideClusterInfo"),
    interactiveMode: readInteractiveMode(fields, apiVersion),
  };
}

function readInteractiveMode(fields: Fields, apiVersion: string): ExecSettings["interactiveMode"] {
  const mode = fields.text("interactiveMode");
  if (mode === "Never" || mode === "IfAvailable" || mode === "Always") return mode;
  if (mode === undefined && apiVersion === v1beta1) return "IfAvailable";
  throw new KubeconfigError("exec.interactiveMode: must be Never, IfAvailable or Always");
}

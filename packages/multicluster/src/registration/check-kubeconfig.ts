/**
 * Whether a kubeconfig of a user is valid: it parses, its current context refers to a cluster, and
 * it refers to nothing on the machine that reads it, neither files nor commands. No error message
 * contains content of the kubeconfig.
 */
import { bounds } from "@kcp-ts/machinery/bounds";
import { type Kubeconfig, KubeconfigError, parseKubeconfig } from "@kcp-ts/sdk";
import { type Problem, problem } from "./problem.ts";

export function checkKubeconfig(text: string): Kubeconfig | Problem {
  const { bytesMax, valuesMax } = bounds.kubeconfig;
  if (text.length > bytesMax) return invalid(`it is longer than ${bytesMax} characters`);
  // Nothing before YAML is parsed tells its values exactly; each follows one of these characters.
  if ((text.match(/[\n\r,[{]/g)?.length ?? 0) > valuesMax)
    return invalid(`it has more than ${valuesMax} lines and list items`);
  let kubeconfig: Kubeconfig;
  try {
    kubeconfig = parseKubeconfig(text, { trust: "inline" });
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    // After the first line, a parser error quotes the input.
    return invalid(error.message.split("\n", 1)[0] ?? "");
  }
  const { currentContext, contexts, clusters, users } = kubeconfig;
  if (currentContext === undefined || currentContext === "")
    return invalid("it has no current-context");
  const context = contexts.get(currentContext);
  if (context === undefined) return invalid("its current-context is not among its contexts");
  const cluster = clusters.get(context.cluster);
  if (cluster === undefined) return invalid("the cluster of its current context is not in it");
  if (context.user !== undefined && !users.has(context.user))
    return invalid("the user of its current context is not in it");
  if (!isHttpUrl(cluster.server)) return invalid("its server is not an http or https URL");
  return kubeconfig;
}

export function isProblem(checked: Kubeconfig | Problem): checked is Problem {
  return "reason" in checked;
}

function isHttpUrl(text: string): boolean {
  const full = text.includes("://") ? text : `http://${text}`;
  return URL.canParse(full) && /^https?:$/.test(new URL(full).protocol);
}

function invalid(message: string): Problem {
  return problem(
    "InvalidKubeConfig",
    `the kubeconfig cannot be used: ${message}; \`kubectl config view --minify --flatten --raw\` prints one that can`,
  );
}

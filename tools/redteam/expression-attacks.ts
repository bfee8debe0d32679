/** Expressions: rules of definitions, policies that validate, policies that mutate. */
import type { SeededRandom } from "@kcp-ts/testkit";
import { define, hostilesPath, object } from "../bench/hold-case.ts";
import { type Attack, anySize, post, times } from "./attack.ts";

/** `list`, `map`, `text` and `self` are what an attack puts in their places. */
const terms = [
  "'%s'.format([map]) != ''",
  "'%s'.format([list]) != ''",
  "'%s%s%s'.format([text, list, map]) != ''",
  "'%x'.format([text]) != ''",
  "map == map",
  "list == list",
  "text == text + ''",
  "self == self",
  "text.size() >= 0",
  "size(map) >= 0",
  "text.contains('b') || true",
  "text.matches('(a+)+b') || true",
  "text.matches('(a?){300}b') || true",
  "text.find('[a-z]+$') != 'zz'",
  "text.findAll('a').size() >= 0",
  "text.replace('a', text).size() >= 0",
  "text.split('').join('--').size() >= 0",
  "text.lastIndexOf('aaaaaaaaab') < 3",
  "text.charAt(0) != 'zz'",
  "text.lowerAscii().upperAscii() != 'zz'",
  "dyn(list).distinct().size() >= 0",
  "dyn(list).map(x, [x, x]).map(x, [x, x]).flatten().size() >= 0",
  "list.all(x, list.exists(y, x == y))",
  "list.all(x, x in list)",
  "map.all(k, map[k] == map[k])",
  "map.map(k, map[k]).size() >= 0",
  "map.transformMap(k, v, [k, v]).size() >= 0",
  "(list + list + list).size() >= 0",
  "[text].map(x, x + x).map(x, x + x).map(x, x + x)[0].size() > 0",
  "sets.equivalent(dyn(list), dyn(list))",
  "isURL(text) || isIP(text) || isQuantity(text) || true",
  "url('http://a/?' + text).getQuery().size() >= 0",
  "int(text) == 1 || true",
  "duration(text) == duration('1s') || true",
  "format.dns1123Subdomain().validate(text).hasValue() || true",
  "dyn(list).sort() == list || true",
  "list.indexOf(list[0]) >= 0",
  "timestamp('2024-01-01T00:00:00Z').getHours('Europe/Berlin') >= 0",
  "list.all(i, x, list.exists(j, y, i == j && x == y))",
  "list.transformList(i, x, [x, x]).size() >= 0",
  "list.transformMap(i, x, list).size() >= 0",
  "map.transformList(k, v, k + v).size() >= 0",
  "map.transformMapEntry(k, v, {v: k}).size() >= 0 || true",
  "map.exists(k, v, map.exists(p, q, k == q && v == p)) || true",
  "list.slice(0, list.size() / 2).size() >= 0",
  "dyn(list).reverse() == dyn(list).reverse()",
  "list.isSorted() || list.min() <= list.max()",
  "list.lastIndexOf('t8') >= -1",
  "strings.quote(text) != ''",
  "text.trim().replace('', '--').size() >= 0",
  "text.substring(text.size() / 2).startsWith('z') || text.endsWith('z') || true",
  "text.findAll('(a|b)*?c|.', 100000).size() >= 0",
  "text.matches('^(([a-z])+.)+[A-Z]([a-z])+$') || true",
  "quantity(text).isGreaterThan(quantity('1')) || true",
  "list.all(x, !isQuantity(x) || quantity(x).add(quantity(x)).asInteger() > 0)",
  "ip(text).family() == 4 || true",
  "list.all(x, !isCIDR(x) || cidr(x).containsIP(x))",
  "isSemver(text) && semver(text).major() > 0 || true",
  "sets.contains(dyn(list), dyn(list)) && sets.intersects(dyn(list), dyn(list))",
  "list.map(x, {x: map}) == list.map(x, {x: map})",
  "map.map(k, map.map(q, k + q)).size() >= 0",
  "'%s %d %f %e %b %o'.format([text, 1, 1.5, 1.5, true, 8]) != '' || true",
  "list.map(x, '%s'.format([list])).size() >= 0",
  "optional.of(list).orValue([]).size() >= 0",
  "format.qualifiedName().validate(text) == optional.none() || true",
] as const;

function anyTerm(random: SeededRandom, depth = 0): string {
  const [a, b] = [random.pick(terms), random.pick(terms)];
  switch (depth > 2 ? 9 : random.integer(8)) {
    case 0:
      return `list.all(z${depth}, ${anyTerm(random, depth + 1)})`;
    case 1:
      return `(${a}) && (${anyTerm(random, depth + 1)})`;
    case 2:
      return `(${b}) || (${anyTerm(random, depth + 1)})`;
    case 3:
      return `map.exists(q${depth}, !(${anyTerm(random, depth + 1)})) || true`;
    default:
      return a;
  }
}

function placed(term: string, prefix: string): string {
  return term.replaceAll(/\b(list|map|text)\b(?!\()/g, (name) => `${prefix}.${name}`);
}

/** Data, and the schema whose limits it fills: the estimate of cheap rules passes small ones. */
function anyData(random: SeededRandom) {
  const list = anySize(random, 70_000);
  const map = anySize(random, 9000);
  const length = anySize(random, 1_000_000);
  const spec = {
    list: times(list, (i) => `t${i % 9}`),
    map: Object.fromEntries(times(map, (i) => [`k${i}`, `v${i}`])),
    text: random.pick(["a", "é世", "😀", ","]).repeat(length >> 2),
  };
  const string = { type: "string", maxLength: 10 };
  const schema = {
    list: { type: "array", items: string, maxItems: list },
    map: { type: "object", additionalProperties: string, maxProperties: map },
    text: { type: "string", maxLength: length },
  };
  return { spec, schema };
}

const anywhere = {
  list: { type: "array", items: { type: "string" } },
  map: { type: "object", additionalProperties: { type: "string" } },
  text: { type: "string" },
};

const custom = (spec: object, name = "x") => ({
  apiVersion: "hold.example.com/v1",
  kind: "Kindhostiles",
  metadata: { name },
  spec,
});

const rules: Attack = {
  name: "rules of a definition",
  *steps({ random }) {
    const { spec, schema } = anyData(random);
    const validations = times(1 + random.integer(8), () => ({
      rule: placed(anyTerm(random), "self"),
      ...(random.chance(0.3) ? { messageExpression: "'%s'.format([self.map])" } : {}),
    }));
    for (const each of [schema, anywhere]) {
      yield {
        ...define({
          schema: object({ spec: object(each, { "x-kubernetes-validations": validations }) }),
        }),
        waitsForDefinition: true,
      };
    }
    yield post(hostilesPath, custom(spec));
    yield {
      method: "PATCH",
      path: `${hostilesPath}/x`,
      contentType: "application/merge-patch+json",
      body: '{"spec":{"text":"b"}}',
    };
  },
};

const policyPath = "/apis/admissionregistration.k8s.io/v1";

const policies: Attack = {
  name: "policies with expressions",
  *steps({ random }) {
    const { spec } = anyData(random);
    yield { ...define({ schema: object({ spec: object(anywhere) }) }), waitsForDefinition: true };
    const term = () => placed(anyTerm(random), "object.spec");
    yield post(`${policyPath}/validatingadmissionpolicies`, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "p" },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: {
          resourceRules: [
            { apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["*"] },
          ],
        },
        matchConditions: times(random.integer(3), (i) => ({ name: `m${i}`, expression: term() })),
        variables: times(random.integer(4), (i) => ({ name: `v${i}`, expression: term() })),
        validations: times(1 + random.integer(6), (i) => ({
          expression: random.chance(0.3) ? `variables.v${i % 4} || true` : term(),
          messageExpression: "'%s'.format([object.spec.list])",
        })),
        auditAnnotations: [{ key: "k", valueExpression: "'%s'.format([object.spec.map])" }],
      },
    });
    yield post(`${policyPath}/validatingadmissionpolicybindings`, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: "p" },
      spec: { policyName: "p", validationActions: ["Deny"] },
    });
    yield post(hostilesPath, custom(spec));
    yield post(hostilesPath, custom(spec, "y"));
  },
};

const mutations: Attack = {
  name: "policies that mutate",
  *steps({ random }) {
    const { spec } = anyData(random);
    const path = "/apis/admissionregistration.k8s.io/v1";
    yield { ...define({ schema: object({ spec: object(anywhere) }) }), waitsForDefinition: true };
    const doubling = ".map(x, [x, x])".repeat(1 + random.integer(30));
    const value = random.pick([
      `[object.spec.list]${doubling}`,
      "object.spec",
      "'%s'.format([object.spec.map])",
      "object.spec.text + object.spec.text",
    ]);
    yield post(`${path}/mutatingadmissionpolicies`, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingAdmissionPolicy",
      metadata: { name: "m" },
      spec: {
        failurePolicy: "Fail",
        reinvocationPolicy: "IfNeeded",
        matchConstraints: {
          resourceRules: [
            { apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["*"] },
          ],
        },
        mutations: times(1 + random.integer(3), () => ({
          patchType: "JSONPatch",
          jsonPatch: { expression: `[JSONPatch{op: "add", path: "/spec/any", value: ${value}}]` },
        })),
      },
    });
    yield post(`${path}/mutatingadmissionpolicybindings`, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingAdmissionPolicyBinding",
      metadata: { name: "m" },
      spec: { policyName: "m" },
    });
    yield post(hostilesPath, custom(spec));
  },
};

export const expressionAttacks: readonly Attack[] = [rules, policies, mutations];

export default {
  licensekit: {
    input: "openapi.json",
    output: { target: "orval.ts", client: "fetch", baseUrl: { getBaseUrlFromSpecification: true } },
  },
};

/* Starts Swagger UI with the description of this service. */

window.SwaggerUIBundle({url: "openapi.json", dom_id: "#api", deepLinking: true, validatorUrl: null});

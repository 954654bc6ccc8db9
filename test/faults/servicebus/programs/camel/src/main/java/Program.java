import org.apache.camel.CamelContext;
import org.apache.camel.CamelExecutionException;
import org.apache.camel.ProducerTemplate;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.impl.DefaultCamelContext;

/** Sends messages, numbered from 1 to the last argument, through routes of Camel, and prints what arrives, until the input ends. */
final class Program {
    public static void main(String[] args) throws Exception {
        String queue = "azure-servicebus:" + args[1] + "?connectionString=RAW(" + args[0] + ")";
        int count = Integer.parseInt(args[2]);
        try (CamelContext context = new DefaultCamelContext()) {
            context.addRoutes(new RouteBuilder() {
                @Override
                public void configure() {
                    from("direct:send").to(queue);
                    from(queue).process(e -> System.out.println("handled " + e.getMessage().getBody(String.class)));
                }
            });
            context.start();
            try (ProducerTemplate producer = context.createProducerTemplate()) {
                for (int number = 1; number <= count; number++) {
                    send(producer, String.valueOf(number));
                    Thread.sleep(100);
                }
            }
            System.in.readAllBytes();
        }
    }

    private static void send(ProducerTemplate producer, String body) throws InterruptedException {
        while (true) {
            try {
                producer.sendBody("direct:send", body);
                return;
            } catch (CamelExecutionException e) {
                System.err.println("again: " + e.getCause());
                Thread.sleep(200);
            }
        }
    }
}

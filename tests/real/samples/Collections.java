import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/** Collections, direct buffers and the deflater (both of them outside the Java heap) in four threads. */
public class Collections {
    static String work(int seed, int count) {
        Random random = new Random(seed);
        TreeMap<Integer, byte[]> map = new TreeMap<>();
        CRC32 sum = new CRC32();
        for (int i = 0; i < count; i++) {
            byte[] bytes = new byte[random.nextInt(2000)];
            random.nextBytes(bytes);
            map.put(random.nextInt(1000), bytes);
            if (i % 50 == 0) {
                ByteBuffer direct = ByteBuffer.allocateDirect(1 + random.nextInt(100000));
                direct.put(0, (byte) i);
                sum.update(direct);
            }
        }
        Deflater deflater = new Deflater();
        byte[] packed = new byte[8192];
        for (byte[] bytes : map.values()) {
            deflater.reset();
            deflater.setInput(bytes);
            deflater.finish();
            sum.update(packed, 0, deflater.deflate(packed));
        }
        deflater.end();
        return map.size() + " entries, sum " + sum.getValue();
    }

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]);
        ExecutorService threads = Executors.newFixedThreadPool(4);
        List<Future<String>> results = new ArrayList<>();
        for (int seed = 0; seed < 4; seed++) {
            int own = seed;
            results.add(threads.submit(() -> work(own, count)));
        }
        for (Future<String> result : results) {
            System.out.println(result.get());
        }
        threads.shutdown();
    }
}
